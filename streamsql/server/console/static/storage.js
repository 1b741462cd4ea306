// The console's data in this browser: theme, draft, history. Everything works without storage, as
// in a private window.

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
