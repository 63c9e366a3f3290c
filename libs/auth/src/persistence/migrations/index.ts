import type { MigrationClass } from '#libs/persistence';
import { Identity1700000000001 } from './identity-1700000000001.js';

export const authMigrations: readonly MigrationClass[] = [Identity1700000000001];
