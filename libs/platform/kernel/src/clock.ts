/** The only source of wall-clock time; an abstract class so that it doubles as the dependency-injection token. */
export abstract class Clock {
  abstract now(): Date;
}

export class SystemClock extends Clock {
  override now(): Date {
    return new Date();
  }
}
