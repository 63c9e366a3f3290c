import { type AutomationIssue, invalid } from './automation-issue.js';
import { readPrompt } from './placeholders.js';
import { MAX_AUTOMATION_NAME, MAX_PROMPT_BYTES, MAX_TRIGGERS, MAX_TRIGGERS_BYTES } from './automation.js';

/** What somebody wants an automation to be: {@link AutomationFields} before they are checked. */
export interface RequestedAutomation {
  readonly name: string;
  readonly enabled: boolean;
  readonly prompt: string;
  readonly agentConfig: unknown;
  readonly agentIdentityUid: string | null;
  readonly triggers: readonly unknown[];
}

/** Rules that need nothing but the automation itself. */
export function plainIssues({ name, prompt, triggers }: RequestedAutomation): AutomationIssue[] {
  const read = readPrompt(prompt);
  const found: (AutomationIssue | null)[] = [
    name.trim() === '' ? invalid('/name', 'must not be blank') : null,
    name.length > MAX_AUTOMATION_NAME ? invalid('/name', `must not exceed ${MAX_AUTOMATION_NAME} characters`) : null,
    prompt.trim() === '' ? invalid('/prompt', 'must not be blank') : null,
    Buffer.byteLength(prompt) > MAX_PROMPT_BYTES
      ? invalid('/prompt', `must not exceed ${MAX_PROMPT_BYTES} bytes in UTF-8`)
      : null,
    read.kind === 'invalid' ? invalid('/prompt', read.detail) : null,
    triggers.length === 0 ? invalid('/triggers', 'must have at least one entry') : null,
    triggers.length > MAX_TRIGGERS ? invalid('/triggers', `must not exceed ${MAX_TRIGGERS} entries`) : null,
    Buffer.byteLength(JSON.stringify(triggers)) > MAX_TRIGGERS_BYTES
      ? invalid('/triggers', `must not exceed ${MAX_TRIGGERS_BYTES} bytes as JSON, all together`)
      : null,
  ];
  return found.filter((issue) => issue !== null);
}
