// Running statements in a view, which is redrawn on new results, but not for every row.

import { Run } from "./run.js";
import { useEffect, useRef, useState } from "./vendor/ui.js";

const RENDER_MS = 150;

/** A counter with a limited rate of changes, on which a view can depend. */
function useNews() {
  const [count, setCount] = useState(0);
  const timer = useRef(null);
  const tell = useRef(() => {
    if (timer.current) return;
    timer.current = setTimeout(() => {
      timer.current = null;
      setCount((known) => known + 1);
    }, RENDER_MS);
  });
  useEffect(() => () => clearTimeout(timer.current), []);
  return [count, tell.current];
}

/** A Run, and a function that begins another one; one at a time. */
export function useRun() {
  const [, tell] = useNews();
  const [run, setRun] = useState(null);
  const current = useRef(null);
  useEffect(() => () => current.current?.stop(), []);
  const begin = (work) => {
    current.current?.stop();
    current.current = work === null ? null : new Run(work, tell);
    setRun(current.current);
    current.current?.start();
    return current.current;
  };
  return [run, begin];
}
