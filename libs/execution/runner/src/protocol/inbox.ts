import type { Commands } from '#execution/runner-protocol';

export interface Prompt {
  readonly text: string;
  readonly followupId?: string;
  readonly mode?: string;
}

/** The first text of a continued session whose follow-up said nothing. */
export const CONTINUE_PROMPT = 'Continue from where you stopped.';

/**
 * What people have said and not yet been heard with. Commands come as a level, over and over, until the control plane
 * has seen that they were taken: every id counts once.
 */
export class Inbox {
  private readonly seen = new Set<string>();
  private readonly queue: Prompt[] = [];
  private waiting: ((prompt: Prompt) => void) | undefined;
  private isForDebugging = false;

  receive(prompts: Commands['prompts']): void {
    for (const { followup_id: followupId, message, mode, debug } of prompts) {
      // What waited for the run stays with the control plane, whichever answer it comes in.
      if (this.seen.has(followupId) || (this.isForDebugging && debug !== true)) continue;
      this.seen.add(followupId);
      const text = message.trim() === '' ? CONTINUE_PROMPT : message;
      this.queue.push({ text, followupId, ...(mode === undefined ? {} : { mode }) });
    }
    this.deliver();
  }

  /** From now on only what is said to a debug agent counts; what came before was for the run. */
  acceptDebugOnly(): void {
    this.isForDebugging = true;
    this.queue.length = 0;
    this.seen.clear();
  }

  get isEmpty(): boolean {
    return this.queue.length === 0;
  }

  /** The next prompt, once there is one. One caller at a time. */
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
