// The last hour of each queue, as the server keeps it: the peaks within short spans of time, numbered from 1970 on.

export const past = {
  span: 20_000, // ms
  buckets: 180,
  queues: new Map(), // by key: a Map of [ready, running] by number
  version: 0, // changes with every addition

  add({ spanMillis, buckets, series }) {
    this.version++;
    this.span = spanMillis;
    this.buckets = buckets;
    for (const { source, queue, from, ready, running } of series) {
      const key = keyOf(source, queue);
      const known = this.queues.get(key) ?? new Map();
      this.queues.set(key, known);
      ready.forEach((n, i) => known.set(from + i, n < 0 ? null : [n, running[i]]));
      const newest = from + ready.length - 1;
      for (const number of known.keys()) if (number <= newest - buckets) known.delete(number);
    }
  },

  // stamp is the same as long as the points of a queue are.
  stamp(queue, now) {
    return [this.version, Math.floor(now / this.span), queue.ready, queue.running, queue.stale].join();
  },

  clear() {
    this.queues.clear();
  },

  // of returns the points of a queue, null where nothing was read; the last is the queue as it is.
  of(queue, now) {
    const known = this.queues.get(keyOf(queue.source, queue.name));
    const last = Math.floor(now / this.span);
    const points = [];
    for (let number = last - this.buckets + 1; number < last; number++) points.push(known?.get(number) ?? null);
    points.push(queue.stale ? null : [queue.ready, queue.running]);
    return points;
  },
};

export function keyOf(source, queue) {
  return JSON.stringify([source, queue]);
}
