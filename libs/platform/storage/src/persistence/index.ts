import type { MigrationClass } from '#platform/persistence';
import { Storage1700000000501 } from './storage-1700000000501.js';

export const storageMigrations: readonly MigrationClass[] = [Storage1700000000501];
