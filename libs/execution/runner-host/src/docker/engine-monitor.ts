import type { HostLog } from '#execution/runner';
import type { DockerEngine, EngineInfo } from './docker-engine.js';

const REMIND_MS = 60_000;

export class EngineMonitor {
  private info: EngineInfo | null = null;
  private remindedAt = -Infinity;

  constructor(
    private readonly engine: DockerEngine,
    private readonly address: string,
    private readonly log: HostLog,
  ) {}

  get isUp(): boolean {
    return this.info !== null;
  }

  get processors(): number {
    return this.info?.processors ?? 1;
  }

  async check(): Promise<boolean> {
    try {
      if (this.info) {
        await this.engine.ping();
        return false;
      }
      const info = await this.engine.connect();
      if (info.os !== 'linux') throw new Error(`it runs ${info.os} containers; Linux containers are required`);
      this.info = info;
    } catch (error) {
      this.markUnavailable(error);
      return false;
    }
    this.log.info(`The Docker Engine at ${this.address} is available: version ${this.info.version}.`);
    return true;
  }

  /** Reports a failed request. Runs stay in the queue until the engine is available again. */
  markUnavailable(error: unknown): void {
    const isNews = this.info !== null;
    this.info = null;
    if (!isNews && performance.now() - this.remindedAt < REMIND_MS) return;
    this.remindedAt = performance.now();
    const reason = error instanceof Error ? error.message : String(error);
    this.log.error(
      `The Docker Engine at ${this.address} (DOCKER_HOST) cannot be used: ${reason}. Runs wait in the queue until it is available.`,
    );
  }
}
