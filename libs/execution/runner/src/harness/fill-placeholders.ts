import type { Assignment, HarnessDefinition } from '#execution/runner-protocol';

export interface PlaceholderValues {
  readonly home: string;
  readonly model?: string | undefined;
  readonly reasoningLevel?: string | undefined;
}

/** The model's id that means: whichever the agent takes by itself. */
const AGENTS_OWN = 'auto';

/** What a run asks of its agent, beyond the agent's own choice. */
export function askedOf({ model_id: model, reasoning_level: reasoningLevel }: Assignment['harness']): {
  model?: string | undefined;
  reasoningLevel?: string | undefined;
} {
  return { model: model === AGENTS_OWN ? undefined : model, reasoningLevel };
}

/** The text with its placeholders filled; null when the run does not name one of them. */
export function fillPlaceholders(text: string, { home, model, reasoningLevel }: PlaceholderValues): string | null {
  let isMissing = false;
  const values: Readonly<Record<string, string | undefined>> = { home, model, reasoning_level: reasoningLevel };
  const filled = text.replace(/\{(home|model|reasoning_level)\}/g, (_whole, name: string) => {
    const value = values[name];
    isMissing ||= value === undefined;
    return value ?? '';
  });
  return isMissing ? null : filled;
}

/** Whether the harness says at its start what the placeholder stands for. */
export function mentions({ args, env = {} }: HarnessDefinition, placeholder: 'model' | 'reasoning_level'): boolean {
  return [...args, ...Object.values(env)].some((text) => text.includes(`{${placeholder}}`));
}
