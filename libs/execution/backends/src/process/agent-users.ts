import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';

/** Above the user ids of systems and containers. */
const FIRST_UID = 200_000;
const LAST_UID = 2_000_000_000;

export interface AgentUserRange {
  /** The first user id; 0: derived from the key of the installation. */
  readonly agentUidBase: number;
  readonly agentUidCount: number;
  /** Only a digest of it is used, to select the range. */
  readonly secretsKey?: string | undefined;
}

/**
 * The numeric users of an installation's executions. Without AGENT_UID_BASE the range is derived from the key of the
 * installation: two installations on one machine must not share users, whose processes could read and kill each other.
 */
export class AgentUsers {
  private readonly base: number;
  private readonly count: number;

  constructor({ agentUidBase, agentUidCount, secretsKey }: AgentUserRange, mappedUids = readMappedUids()) {
    // In a user namespace only some users exist.
    const last = Math.min(LAST_UID, mappedUids - 1);
    const first = last > FIRST_UID + agentUidCount ? FIRST_UID : Math.floor(last / 4);
    this.count = Math.max(1, Math.min(agentUidCount, last - first));
    const ranges = Math.max(1, Math.floor((last - first) / this.count));
    const own =
      createHash('sha256')
        .update(`agent users ${secretsKey ?? ''}`)
        .digest()
        .readUInt32BE(0) % ranges;
    this.base = agentUidBase > 0 ? agentUidBase : first + own * this.count;
  }

  uidOf(executionId: string): number {
    return this.base + Number(BigInt(executionId) % BigInt(this.count));
  }
}

function readMappedUids(): number {
  try {
    const [inside, , length] =
      readFileSync('/proc/self/uid_map', 'utf8').trim().split('\n')[0]?.trim().split(/\s+/).map(Number) ?? [];
    return inside === 0 && length !== undefined && length > 0 ? length : LAST_UID;
  } catch {
    return LAST_UID; // no /proc: no namespaces either
  }
}
