import type { MigrationClass } from '#libs/persistence';
import { Runs1700000003001 } from './runs-1700000003001.js';

export const runMigrations: readonly MigrationClass[] = [Runs1700000003001];
