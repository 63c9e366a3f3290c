import type { Commands } from '#execution/runner-protocol';

export interface Prompt {
  readonly text: string;
  readonly followupId?: string;
  readonly mode?: string;
}

/** The first prompt of a continued session whose follow-up is empty. */
export const CONTINUE_PROMPT = 'Continue from where you stopped.';

/**
 * Prompts that have not started a turn yet. Commands are a snapshot that the control plane repeats until they are
 * consumed: every id counts once.
 */
export class Inbox {
  private readonly seen = new Set<string>();
  private readonly queue: Prompt[] = [];
  private waiting: ((prompt: Prompt) => void) | undefined;
  private isForDebugging = false;

  receive(prompts: Commands['prompts']): void {
    for (const { followup_id: followupId, message, mode, debug } of prompts) {
      // Prompts for the run itself stay with the control plane during a debug window.
      if (this.seen.has(followupId) || (this.isForDebugging && debug !== true)) continue;
      this.seen.add(followupId);
      const text = message.trim() === '' ? CONTINUE_PROMPT : message;
      this.queue.push({ text, followupId, ...(mode === undefined ? {} : { mode }) });
    }
    this.deliver();
  }

  /** From now on accepts only prompts for the debug agent; earlier ones were for the run. */
  acceptDebugOnly(): void {
    this.isForDebugging = true;
    this.queue.length = 0;
    this.seen.clear();
  }

  get isEmpty(): boolean {
    return this.queue.length === 0;
  }

  /** The next prompt. One caller at a time. */
  next(): Promise<Prompt> {
    return new Promise((resolve) => {
      this.waiting = resolve;
      this.deliver();
    });
  }

  private deliver(): void {
    const { waiting } = this;
    const prompt = waiting && this.queue.shift();
    if (!waiting || !prompt) return;
    this.waiting = undefined;
    waiting(prompt);
  }
}
