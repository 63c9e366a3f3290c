import { GitFailure } from './git-failure.js';

interface Flight<T> {
  readonly result: Promise<T>;
  readonly ending: AbortController;
  passengers: number;
}

/** Work that several ask for at once is done once. It is stopped when nobody waits for it any more. */
export class SharedFlights<T> {
  private readonly flights = new Map<string, Flight<T>>();

  /** Rejects with GitFailure `aborted` as soon as this asker's own signal aborts. */
  async join(key: string, signal: AbortSignal | undefined, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    if (signal?.aborted) throw stopped();
    const flight = this.flights.get(key) ?? this.start(key, work);
    flight.passengers += 1;
    try {
      return await (signal ? Promise.race([flight.result, aborted(signal)]) : flight.result);
    } finally {
      flight.passengers -= 1;
      if (flight.passengers === 0) {
        if (this.flights.get(key) === flight) this.flights.delete(key);
        flight.ending.abort();
      }
    }
  }

  private start(key: string, work: (signal: AbortSignal) => Promise<T>): Flight<T> {
    const ending = new AbortController();
    const result = work(ending.signal);
    result.catch(() => undefined);
    const flight = { result, ending, passengers: 0 };
    this.flights.set(key, flight);
    return flight;
  }
}

const stopped = (): GitFailure => new GitFailure('aborted', 'git was stopped.');

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(stopped()), { once: true }));
}
