import type { Step } from './conversation.js';

/** One thing to send: a message of a step, or only the step itself when none of its messages changed. JSON, as sent. */
export interface ConversationChange {
  /** Index of the top-level step, then of the nested one in it, and so on. */
  readonly path: readonly number[];
  /** The step without its messages and steps, with `message_count`. */
  readonly step: string;
  readonly message?: { readonly index: number; readonly json: string };
}

interface Part {
  json: string;
  /** Sequence number of the log with which it became what it is. */
  changedAt: number;
}

interface Slot {
  readonly path: readonly number[];
  readonly step: Part;
  readonly messages: Part[];
}

/** A client gets each message that has changed since its position once, in its newest form. */
export class ConversationView {
  private slots = new Map<string, Slot>();

  update(steps: readonly Step[], seq: number): void {
    const slots = new Map<string, Slot>();
    const visit = (step: Step, path: readonly number[]): void => {
      const key = path.join('.');
      const known = this.slots.get(key);
      slots.set(key, {
        path,
        step: newer(known?.step, headerOf(step), seq),
        messages: step.messages.map((message, index) => newer(known?.messages[index], JSON.stringify(message), seq)),
      });
      step.steps.forEach((child, index) => visit(child, [...path, index]));
    };
    steps.forEach((step, index) => visit(step, [index]));
    this.slots = slots;
  }

  /** What changed after `seq`, steps before the steps in them. */
  changedSince(seq: number): ConversationChange[] {
    return [...this.slots.values()].flatMap(({ path, step, messages }) => {
      const changed = messages.flatMap((part, index): ConversationChange[] =>
        part.changedAt > seq ? [{ path, step: step.json, message: { index, json: part.json } }] : [],
      );
      return changed.length === 0 && step.changedAt > seq ? [{ path, step: step.json }] : changed;
    });
  }
}

function newer(known: Part | undefined, json: string, seq: number): Part {
  return known?.json === json ? known : { json, changedAt: seq };
}

function headerOf({ messages, steps: _steps, ...header }: Step): string {
  return JSON.stringify({ ...header, message_count: messages.length });
}
