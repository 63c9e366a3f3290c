import { createHash } from 'node:crypto';

/** Which installation a container belongs to. */
const INSTALLATION_LABEL = 'io.headrace.installation';
const EXECUTION_LABEL = 'io.headrace.execution';

/** How the containers of an installation are told from others on the same engine. */
export class ContainerLabels {
  private readonly own: string;
  private readonly all: ReadonlySet<string>;

  /** @param key tells installations on one engine apart. @param previousKeys under which containers may still be there. */
  constructor(key: string, previousKeys: readonly string[] = []) {
    this.own = idOf(key);
    this.all = new Set([this.own, ...previousKeys.map(idOf)]);
  }

  /** What to list by. */
  get filter(): string {
    return INSTALLATION_LABEL;
  }

  /** Names are unique on an engine: an execution has one container at most. */
  nameOf(executionId: string): string {
    return `headrace-${this.own}-${executionId}`;
  }

  of(executionId: string): Record<string, string> {
    return { [INSTALLATION_LABEL]: this.own, [EXECUTION_LABEL]: executionId };
  }

  /** The execution that a container was made for, or null: it is none of ours. */
  executionOf(labels: Readonly<Record<string, string>>): string | null {
    const executionId = labels[EXECUTION_LABEL] ?? '';
    return this.all.has(labels[INSTALLATION_LABEL] ?? '') && /^\d{1,19}$/.test(executionId) ? executionId : null;
  }
}

const idOf = (secretsKey: string): string =>
  createHash('sha256').update(`docker containers ${secretsKey}`).digest('hex').slice(0, 12);
