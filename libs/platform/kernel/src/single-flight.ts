interface Flight<T> {
  readonly result: Promise<T>;
  readonly ending: AbortController;
  waiters: number;
}

/** Does work that several callers request at the same time once. It is aborted when no caller waits for it any longer. */
export class SingleFlight<T> {
  private readonly flights = new Map<string, Flight<T>>();

  /** `stopped`: what a caller's promise rejects with as soon as its own signal aborts. */
  constructor(private readonly stopped: () => Error = () => new Error('The work was stopped.')) {}

  async run(key: string, signal: AbortSignal | undefined, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    if (signal?.aborted) throw this.stopped();
    const flight = this.flights.get(key) ?? this.start(key, work);
    flight.waiters += 1;
    try {
      return await (signal ? Promise.race([flight.result, this.aborted(signal)]) : flight.result);
    } finally {
      flight.waiters -= 1;
      if (flight.waiters === 0) {
        if (this.flights.get(key) === flight) this.flights.delete(key);
        flight.ending.abort();
      }
    }
  }

  private start(key: string, work: (signal: AbortSignal) => Promise<T>): Flight<T> {
    const ending = new AbortController();
    const result = work(ending.signal);
    // Every waiter receives the rejection; without waiters it must not become an unhandled one.
    result.catch(() => undefined);
    const flight = { result, ending, waiters: 0 };
    this.flights.set(key, flight);
    return flight;
  }

  private aborted(signal: AbortSignal): Promise<never> {
    return new Promise((_resolve, reject) =>
      signal.addEventListener('abort', () => reject(this.stopped()), { once: true }),
    );
  }
}
