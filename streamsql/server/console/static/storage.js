// What this browser keeps of the console: theme, draft, history. Where it may keep nothing (a
// private window), everything works without.

const PREFIX = "streamsql.";

export function read(name, otherwise) {
  try {
    return JSON.parse(localStorage.getItem(PREFIX + name)) ?? otherwise;
  } catch {
    return otherwise;
  }
}

export function write(name, value) {
  try {
    localStorage.setItem(PREFIX + name, JSON.stringify(value));
  } catch {
    // Full, or not allowed.
  }
}
