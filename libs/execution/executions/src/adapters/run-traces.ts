import { Injectable, Logger, type OnModuleDestroy } from '@nestjs/common';
import { Settings } from '#platform/config';
import { within } from '#platform/kernel';
import { telemetry } from '#platform/observability';
import { RunTracesStore } from '../persistence/run-traces.store.js';
import { spansOfRun } from './run-spans.js';

/** Runs that have ended and whose spans are not exported yet; what exceeds it has no spans. */
const MAX_WAITING = 1_000;
const SHUTDOWN_MS = 2_000;

/**
 * Exports the spans of a run when it ends, from what the database says about it: also if processes were lost in between, and without
 * anything to do while it works. Runners have no credentials of the receiver.
 */
@Injectable()
export class RunTraces implements OnModuleDestroy {
  private readonly logger = new Logger(RunTraces.name);
  private readonly waiting = new Set<string>();
  private exporting: Promise<void> | null = null;

  constructor(
    private readonly store: RunTracesStore,
    private readonly settings: Settings,
  ) {}

  async onModuleDestroy(): Promise<void> {
    if (this.exporting !== null) await within(SHUTDOWN_MS, this.exporting, () => undefined);
  }

  /** After the commit. Never throws and never waits. */
  runEnded(runId: string): void {
    if (telemetry() === null || this.waiting.size >= MAX_WAITING) return;
    this.waiting.add(runId);
    this.exporting ??= this.exportWaiting();
  }

  /** One after the other: ends of runs do not compete for connections. Never rejects. */
  private async exportWaiting(): Promise<void> {
    for (const runId of this.waiting) {
      this.waiting.delete(runId);
      try {
        const found = await this.store.find(runId);
        if (found === null) continue;
        for (const span of spansOfRun(runId, found.run, found.events, this.settings.genaiSemconvVersion))
          telemetry()?.record(span);
      } catch (error) {
        this.logger.warn(
          `The spans of a run were not exported: ${error instanceof Error ? error.message : String(error)}`,
        );
      }
    }
    // In the turn in which the loop has found nothing more: a run that ends from now on begins another one.
    this.exporting = null;
  }
}
