import type { MigrationClass } from '#platform/persistence';
import { Definitions1700000006401 } from './persistence/definitions-1700000006401.js';

/** The tables of this room; a door of its own, so that whoever looks at the schema need not load the room. */
export const definitionMigrations: readonly MigrationClass[] = [Definitions1700000006401];
