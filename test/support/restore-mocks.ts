import { fileURLToPath } from 'node:url';
import { afterEach, vi } from 'vitest';

const APPLICATIONS = fileURLToPath(new URL('..', import.meta.url));

// For the tests beside the code. Those of applications replace some things for a whole file, and restore them themselves.
afterEach(({ task }) => {
  if (task.file.filepath.startsWith(APPLICATIONS)) return;
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
});
