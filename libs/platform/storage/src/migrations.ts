/** The tables of this room; a door of its own, so that whoever looks at the schema need not load the room. */
export { storageMigrations } from './persistence/index.js';
