import { Logger } from '@nestjs/common';

interface Item {
  readonly name: string;
  readonly close: () => Promise<void> | void;
}

/** What has to be closed when a process ends, the last opened first. A part that fails or hangs does not keep the others open. */
export class ClosingStack {
  private readonly logger = new Logger('Shutdown');
  private readonly items: Item[] = [];

  /** @param patienceMs how long one part may take. */
  constructor(private readonly patienceMs: number) {}

  add(name: string, close: () => Promise<void> | void): void {
    this.items.push({ name, close });
  }

  /** Closes everything. False when a part failed or did not end in time. */
  async close(): Promise<boolean> {
    let clean = true;
    for (let item = this.items.pop(); item; item = this.items.pop()) clean = (await this.closeOne(item)) && clean;
    return clean;
  }

  private async closeOne({ name, close }: Item): Promise<boolean> {
    let timer: NodeJS.Timeout | undefined;
    const patience = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => reject(new Error(`not closed after ${this.patienceMs} ms`)), this.patienceMs);
    });
    try {
      await Promise.race([close(), patience]);
      return true;
    } catch (error) {
      this.logger.error(`${name} did not close: ${error instanceof Error ? error.message : String(error)}`);
      return false;
    } finally {
      clearTimeout(timer);
    }
  }
}
