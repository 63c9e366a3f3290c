import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';

/**
 * Tokens that are good for one execution only: `hrx_<execution id>_<mac>`. They are recomputed, never stored; whether
 * the execution still lives is asked of the database with every call, so a token dies with its execution. Tokens of
 * previous keys are good too, so that runners at work survive a change of the key.
 */
export class ExecutionTokens {
  private readonly key: Buffer;
  private readonly keys: readonly Buffer[];

  constructor(secretsKey: string, previousKeys: readonly string[] = []) {
    this.key = derive(secretsKey);
    this.keys = [this.key, ...previousKeys.map(derive)];
  }

  mint(executionId: string): string {
    return `hrx_${executionId}_${macOf(this.key, executionId).toString('base64url')}`;
  }

  /** The execution the token is good for, or null. Constant time in the secret part. */
  verify(token: string): string | null {
    const match = /^hrx_(\d{1,19})_([A-Za-z0-9_-]{43})$/.exec(token);
    const [, executionId, mac] = match ?? [];
    if (executionId === undefined || mac === undefined) return null;
    const given = Buffer.from(mac, 'base64url');
    const isGood = this.keys.some((key) => {
      const wanted = macOf(key, executionId);
      return given.length === wanted.length && timingSafeEqual(given, wanted);
    });
    return isGood ? executionId : null;
  }

  /** Marks the processes of an execution. Agents see their own; nobody can compute another's. */
  marker(executionId: string): string {
    // The first word is part of the value, which executions of an earlier version have too.
    return macOf(this.key, `cookie ${executionId}`).toString('hex');
  }
}

const derive = (secretsKey: string): Buffer =>
  Buffer.from(hkdfSync('sha256', secretsKey, '', 'headrace execution tokens v1', 32));

const macOf = (key: Buffer, subject: string): Buffer => createHmac('sha256', key).update(subject).digest();
