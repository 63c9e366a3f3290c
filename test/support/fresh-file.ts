import { beforeAll } from 'vitest';
import { CapturedLog } from '#testing';

// Files share a process, and with it the log: what earlier ones have logged is none of this one's business.
beforeAll(() => {
  CapturedLog.install().clear();
});
