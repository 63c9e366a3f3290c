import { Injectable } from '@nestjs/common';

type Check = () => Promise<unknown>;

export interface ReadinessReport {
  readonly ready: boolean;
  readonly draining: boolean;
  readonly checks: Readonly<Record<string, 'ok' | 'failed'>>;
}

/** Whether a load balancer should send requests here. */
@Injectable()
export class Readiness {
  private readonly checks = new Map<string, Check>();
  private draining = false;

  /** `check` rejects when the part is not usable. */
  register(name: string, check: Check): void {
    this.checks.set(name, check);
  }

  /** From now on not ready: the process is going down. */
  drain(): void {
    this.draining = true;
  }

  async report(): Promise<ReadinessReport> {
    const results = await Promise.all(
      [...this.checks].map(
        async ([name, check]) =>
          [
            name,
            await check().then(
              () => 'ok' as const,
              () => 'failed' as const,
            ),
          ] as const,
      ),
    );
    return {
      ready: !this.draining && results.every(([, result]) => result === 'ok'),
      draining: this.draining,
      checks: Object.fromEntries(results),
    };
  }
}
