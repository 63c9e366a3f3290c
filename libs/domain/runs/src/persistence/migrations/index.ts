import type { MigrationClass } from '#platform/persistence';
import { Runs1700000003001 } from './runs-1700000003001.js';
import { Runs1700000003002 } from './runs-1700000003002.js';
import { Runs1700000003003 } from './runs-1700000003003.js';
import { Runs1700000003004 } from './runs-1700000003004.js';
import { Runs1700000003005 } from './runs-1700000003005.js';
import { Runs1700000003006 } from './runs-1700000003006.js';
import { Runs1700000003007 } from './runs-1700000003007.js';
import { Runs1700000006101 } from './runs-1700000006101.js';
import { Runs1700000007301 } from './runs-1700000007301.js';
import { Runs1700000007601 } from './runs-1700000007601.js';
import { Runs1700000008101 } from './runs-1700000008101.js';
import { Runs1700000008401 } from './runs-1700000008401.js';
import { Runs1700000010101 } from './runs-1700000010101.js';
import { Runs1700000010202 } from './runs-1700000010202.js';
import { Runs1700000010502 } from './runs-1700000010502.js';
import { Runs1700000010701 } from './runs-1700000010701.js';

export const runMigrations: readonly MigrationClass[] = [
  Runs1700000003001,
  Runs1700000003002,
  Runs1700000003003,
  Runs1700000003004,
  Runs1700000003005,
  Runs1700000003006,
  Runs1700000003007,
  Runs1700000006101,
  Runs1700000007301,
  Runs1700000007601,
  Runs1700000008101,
  Runs1700000008401,
  Runs1700000010101,
  Runs1700000010202,
  Runs1700000010502,
  Runs1700000010701,
];
