import { Injectable } from '@nestjs/common';
import { ResponseLimit } from '#platform/http';

/** Each download keeps up to two packs of a snapshot in memory for as long as the client reads. */
@Injectable()
export class SnapshotDownloads extends ResponseLimit {
  constructor() {
    super('files of runs', { total: 16, perKey: 4, maxWaitMs: 5_000, maxSendMs: 60 * 60_000 });
  }
}

/** Apart from those with a token, which the readers of a link must not delay: it may be passed on. */
@Injectable()
export class LinkDownloads extends ResponseLimit {
  constructor() {
    super('files of runs', { total: 16, perKey: 4, maxWaitMs: 5_000, maxSendMs: 60 * 60_000 });
  }
}

/** Each comparison keeps up to two packs of two snapshots in memory, and uses the processor. */
@Injectable()
export class SnapshotComparisons extends ResponseLimit {
  constructor() {
    super('changes of runs', { total: 4, perKey: 2, maxWaitMs: 10_000, maxSendMs: 10 * 60_000 });
  }
}
