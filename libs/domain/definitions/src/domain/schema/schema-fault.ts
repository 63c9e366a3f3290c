import type { Side } from '../yaml/locate.js';

/** Something wrong with a value, and at which key or value. */
export interface SchemaFault {
  readonly code: string;
  readonly path: readonly string[];
  readonly side: Side;
  readonly message: string;
}
