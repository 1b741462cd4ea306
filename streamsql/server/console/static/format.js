// Values, numbers and names in readable form.

const LARGE = [[1e9, "G"], [1e6, "M"], [1e3, "k"]];

/** 1234 as 1.2k. */
export function short(number) {
  if (number === null || number === undefined) return "–";
  for (const [size, letter] of LARGE) {
    if (Math.abs(number) >= size) return `${(number / size).toFixed(1)}${letter}`;
  }
  return Number.isInteger(number) ? String(number) : number.toFixed(1);
}

export function rate(perSecond) {
  return perSecond === null || perSecond === undefined ? "–" : `${short(perSecond)}/s`;
}

export function milliseconds(number) {
  return number === null || number === undefined ? "–" : `${number.toLocaleString("en")} ms`;
}

export function cell(value) {
  if (value === null || value === undefined) return "NULL";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

export function clock(milliseconds) {
  return milliseconds ? new Date(milliseconds).toLocaleString() : "–";
}

/** A name as SQL quotes it. */
export function quoted(name) {
  return /^[A-Z_][A-Z0-9_]*$/.test(name) ? name : `\`${name.replaceAll("`", "``")}\``;
}

export function literal(text) {
  return `'${text.replaceAll("'", "''")}'`;
}
