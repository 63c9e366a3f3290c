import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';

/**
 * Tokens that are good for one execution only: `hrx_<execution id>_<mac>`. They are recomputed, never stored; whether
 * the execution still lives is asked of the database with every call, so a token dies with its execution.
 */
export class ExecutionTokens {
  private readonly key: Buffer;

  constructor(secretsKey: string) {
    this.key = Buffer.from(hkdfSync('sha256', secretsKey, '', 'headrace execution tokens v1', 32));
  }

  mint(executionId: string): string {
    return `hrx_${executionId}_${this.mac(executionId).toString('base64url')}`;
  }

  /** The execution the token is good for, or null. Constant time in the secret part. */
  verify(token: string): string | null {
    const match = /^hrx_(\d{1,19})_([A-Za-z0-9_-]{43})$/.exec(token);
    const [, executionId, mac] = match ?? [];
    if (executionId === undefined || mac === undefined) return null;
    const given = Buffer.from(mac, 'base64url');
    const wanted = this.mac(executionId);
    return given.length === wanted.length && timingSafeEqual(given, wanted) ? executionId : null;
  }

  /** Marks the processes of an execution. Agents see their own; nobody can compute another's. */
  cookie(executionId: string): string {
    return this.mac(`cookie ${executionId}`).toString('hex');
  }

  private mac(subject: string): Buffer {
    return createHmac('sha256', this.key).update(subject).digest();
  }
}
