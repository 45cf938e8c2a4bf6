// How numbers and times are said.

// clock tells the server's time: ages are of its instants, and this machine's clock may be another.
export const clock = {
  offset: 0,
  set(now) {
    this.offset = now - Date.now();
  },
  now() {
    return Date.now() + this.offset;
  },
};

const second = 1000, minute = 60 * second, hour = 60 * minute, day = 24 * hour;

// span says how long, to two units: 340ms, 12s, 3m20s, 5h3m, 9d4h.
export function span(ms) {
  if (ms < 1) return ms > 0 ? `${Math.max(1, Math.round(ms * 1000))}µs` : "0s";
  if (ms < 10) return `${ms.toFixed(1)}ms`;
  if (ms < second) return `${Math.round(ms)}ms`;
  if (ms < hour) return units(ms, minute, "m", second, "s");
  if (ms < day) return units(ms, hour, "h", minute, "m");
  return units(ms, day, "d", hour, "h");
}

function units(ms, big, bigName, small, smallName) {
  const bigs = Math.floor(ms / big), smalls = Math.floor((ms % big) / small);
  return (bigs ? bigs + bigName : "") + (smalls || !bigs ? smalls + smallName : "");
}

// since says how long ago an instant of the server's was; "" for never.
export function since(at) {
  return at ? span(Math.max(0, Math.floor((clock.now() - at) / second) * second)) : "";
}

// ago is since, for what is told anew all the time.
export function ago(at) {
  if (!at) return "never";
  return clock.now() - at < 2 * second ? "just now" : `${since(at)} ago`;
}

// until says how long it is to an instant.
export function until(at) {
  return span(Math.max(0, Math.ceil((at - clock.now()) / second) * second));
}

// count shows a number of things, from 10,000 on to three digits: 9999, 12.3k, 4.1M.
export function count(n) {
  if (n < 10000) return String(n);
  for (const unit of ["k", "M", "G"]) {
    n /= 1000;
    if (n < 999.5 || unit === "G") return (n >= 99.95 ? n.toFixed(0) : n.toFixed(1).replace(/\.0$/, "")) + unit;
  }
}

// number shows a value, to three digits after the point.
export function number(v) {
  return String(Math.round(v * 1000) / 1000);
}

export function plural(n, one, many = `${one}s`) {
  return `${count(n)} ${n === 1 ? one : many}`;
}

// timeOfDay shows an instant of the server's by this machine's clock.
export function timeOfDay(at) {
  return new Date(at - clock.offset).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
}
