import { createHash } from 'node:crypto';

const INSTALLATION_LABEL = 'io.headrace.installation';
const EXECUTION_LABEL = 'io.headrace.execution';

/** The labels by which containers and pods of an installation are found. */
export class ContainerLabels {
  readonly filter = INSTALLATION_LABEL;
  private readonly own: string;
  private readonly all: ReadonlySet<string>;

  /** @param key distinguishes installations on one engine or in one namespace. @param previousKeys keys of those that may still exist. */
  constructor(key: string, previousKeys: readonly string[] = []) {
    this.own = idOf(key);
    this.all = new Set([this.own, ...previousKeys.map(idOf)]);
  }

  /** As a label selector of Kubernetes. */
  get selector(): string {
    return `${INSTALLATION_LABEL} in (${[...this.all].join(',')})`;
  }

  /** Names are unique on an engine and in a namespace: an execution has one container at most. */
  nameOf(executionId: string): string {
    return `headrace-${this.own}-${executionId}`;
  }

  of(executionId: string): Record<string, string> {
    return { [INSTALLATION_LABEL]: this.own, [EXECUTION_LABEL]: executionId };
  }

  /** Null: of another installation. */
  executionOf(labels: Readonly<Record<string, string>>): string | null {
    const executionId = labels[EXECUTION_LABEL] ?? '';
    return this.all.has(labels[INSTALLATION_LABEL] ?? '') && /^\d{1,19}$/.test(executionId) ? executionId : null;
  }
}

const idOf = (secretsKey: string): string =>
  createHash('sha256').update(`docker containers ${secretsKey}`).digest('hex').slice(0, 12);
