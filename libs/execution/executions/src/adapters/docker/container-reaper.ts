import { Logger } from '@nestjs/common';
import type { ContainerLabels, DockerEngine } from '#execution/runner-host';
import type { FinishExecution } from '../../application/finish-execution.js';
import type { ExecutionQueries } from '../execution-queries.js';

export interface ReaperTools {
  readonly engine: DockerEngine;
  readonly labels: ContainerLabels;
  readonly facts: ExecutionQueries;
  readonly finish: FinishExecution;
}

/** Containers of the installation that nobody looks after, such as after a crash of ours. */
export class ContainerReaper {
  private readonly logger = new Logger('DockerExecutor');
  /** That stood still the last time. Another processor on the same engine may be about to see to them. */
  private still = new Set<string>();

  constructor(private readonly tools: ReaperTools) {}

  /**
   * Removes what belongs to executions that have ended, whatever it does; what works on for one that lives is left to its
   * lease. One that stands still while its execution lives, at two looks, has lost its runner.
   */
  async reap(isOurs: (executionId: string) => boolean): Promise<void> {
    const { engine, labels, facts, finish } = this.tools;
    const listed = await engine.listContainers(labels.filter);
    const orphans = listed.flatMap(({ id, state, labels: own }) => {
      const executionId = labels.executionOf(own);
      return executionId === null || isOurs(executionId) ? [] : [{ id, executionId, isStill: isStill(state) }];
    });
    const over =
      orphans.length === 0 ? new Set<string>() : await facts.over(orphans.map((orphan) => orphan.executionId));
    const before = this.still;
    this.still = new Set(orphans.filter((orphan) => orphan.isStill).map(({ id }) => id));
    for (const { id, executionId, isStill } of orphans) {
      const isOver = over.has(executionId);
      if (!isOver && !(isStill && before.has(id))) continue;
      try {
        await engine.removeContainer(id);
        if (!isOver) await finish.lose(executionId, 'container_exited');
        this.logger.log({ msg: 'container of nobody removed', execution_id: executionId, container: id.slice(0, 12) });
      } catch (error) {
        // One container that cannot be removed keeps neither the others nor the service.
        this.logger.error({ msg: 'container of nobody not removed', execution_id: executionId, error: String(error) });
      }
    }
  }
}

const isStill = (state: string): boolean => state === 'exited' || state === 'dead';
