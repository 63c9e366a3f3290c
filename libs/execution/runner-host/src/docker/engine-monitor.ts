import type { HostLog } from '../host-log.js';
import type { DockerEngine, EngineInfo } from './docker-engine.js';

const REMIND_MS = 60_000;

/** Knows whether the engine answers, and says so when that changes. */
export class EngineMonitor {
  private facts_: EngineInfo | null = null;
  private remindedAt = -Infinity;

  constructor(
    private readonly engine: DockerEngine,
    private readonly address: string,
    private readonly log: HostLog,
  ) {}

  get isUp(): boolean {
    return this.facts_ !== null;
  }

  get processors(): number {
    return this.facts_?.processors ?? 1;
  }

  /** Looks once; true when the engine answers now and did not before. */
  async look(): Promise<boolean> {
    try {
      if (this.facts_) {
        await this.engine.ping();
        return false;
      }
      const facts = await this.engine.connect();
      if (facts.os !== 'linux') throw new Error(`it runs ${facts.os} containers, and Linux ones are needed`);
      this.facts_ = facts;
    } catch (error) {
      this.isDown(error);
      return false;
    }
    this.log.info(`The Docker Engine at ${this.address} is available: version ${this.facts_.version}.`);
    return true;
  }

  /** Somebody got no answer. Runs stay in the queue until there is one again. */
  isDown(error: unknown): void {
    const isNews = this.facts_ !== null;
    this.facts_ = null;
    if (!isNews && performance.now() - this.remindedAt < REMIND_MS) return;
    this.remindedAt = performance.now();
    const reason = error instanceof Error ? error.message : String(error);
    this.log.error(
      `The Docker Engine at ${this.address} (DOCKER_HOST) cannot be used: ${reason}. Runs wait in the queue until it is available.`,
    );
  }
}
