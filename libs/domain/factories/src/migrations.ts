import type { MigrationClass } from '#platform/persistence';
import { Factories1700000001001 } from './persistence/factories-1700000001001.js';

/** The tables of this room; a door of its own, so that whoever looks at the schema need not load the room. */
export const factoryMigrations: readonly MigrationClass[] = [Factories1700000001001];
