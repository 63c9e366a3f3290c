import { type FactoryProvider, Injectable, Logger, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common';
import { Settings } from '#platform/config';
import { Clock, SystemClock } from '#platform/kernel';
import { Database, type Queryable } from './database.js';
import { DatabaseListener } from './listener.js';

const CHANNEL = 'headrace_test_clock';
/** Spells "TICK"; two processes may install at once. */
const INSTALL_LOCK = 0x5449434b;

/** Puts a table behind `headrace.now()`, so that a test can move the time of a whole installation. Safe to repeat. */
export async function installTestClock(database: Queryable): Promise<void> {
  await database.query(`
DO $install$ BEGIN
  PERFORM pg_advisory_xact_lock(${INSTALL_LOCK});
  IF to_regclass('headrace.test_clock') IS NULL THEN
    CREATE TABLE headrace.test_clock (only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row), shift interval NOT NULL);
    INSERT INTO headrace.test_clock (shift) VALUES ('0');
  END IF;
  -- A migration may have replaced it.
  IF (SELECT prosrc NOT LIKE '%test_clock%' FROM pg_proc WHERE oid = 'headrace.now()'::regprocedure) THEN
    CREATE OR REPLACE FUNCTION headrace.now() RETURNS timestamptz LANGUAGE sql STABLE
      AS 'SELECT pg_catalog.now() + (SELECT shift FROM headrace.test_clock)';
  END IF;
END $install$`);
}

/** Moves the clock of every process that shares the database. */
export async function advanceTestClock(database: Queryable, milliseconds: number): Promise<void> {
  await database.query(`UPDATE headrace.test_clock SET shift = shift + make_interval(secs => $1::float8 / 1000)`, [
    milliseconds,
  ]);
  await database.query(`SELECT pg_notify('${CHANNEL}', '')`);
}

/** The clock of an installation with HEADRACE_TEST_CLOCK: wall clock plus the shift that SQL sees too. */
@Injectable()
export class MovableClock extends Clock implements OnModuleInit, OnModuleDestroy {
  private readonly logger = new Logger(MovableClock.name);
  private readonly waiting = new Set<() => void>();
  private shiftMs = 0;
  private unsubscribe: (() => void) | null = null;

  constructor(
    private readonly database: Database,
    private readonly listener: DatabaseListener,
  ) {
    super();
  }

  override now(): Date {
    return new Date(Date.now() + this.shiftMs);
  }

  async onModuleInit(): Promise<void> {
    await installTestClock(this.database);
    this.unsubscribe = this.listener.subscribe(CHANNEL, () => {
      this.reload().catch((error: Error) => this.logger.warn(`The test clock was not read: ${error.message}`));
    });
    await this.reload();
  }

  onModuleDestroy(): void {
    this.unsubscribe?.();
  }

  /** Resolves once this process sees at least this shift. */
  async reached(shiftMs: number): Promise<void> {
    while (this.shiftMs < shiftMs) await new Promise<void>((resolve) => this.waiting.add(resolve));
  }

  private async reload(): Promise<void> {
    const [row] = await this.database.query<{ ms: string }>(
      'SELECT extract(epoch FROM shift) * 1000 AS ms FROM headrace.test_clock',
    );
    this.shiftMs = Number(row?.ms ?? 0);
    const waiting = [...this.waiting];
    this.waiting.clear();
    for (const wake of waiting) wake();
  }
}

/** The `Clock` of an application: the system's, or the movable one where HEADRACE_TEST_CLOCK asks for it. */
export const clockProvider: FactoryProvider<Clock> = {
  provide: Clock,
  inject: [Settings, Database, DatabaseListener],
  useFactory: ({ allowTestClock }: Settings, database: Database, listener: DatabaseListener) =>
    allowTestClock ? new MovableClock(database, listener) : new SystemClock(),
};
