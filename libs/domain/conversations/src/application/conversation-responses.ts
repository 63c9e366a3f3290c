import { Injectable } from '@nestjs/common';
import { ResponseLimit } from '#platform/http';

/** Each one is up to 32 MiB of text, which stays in memory until the client has read it. */
@Injectable()
export class ConversationResponses extends ResponseLimit {
  constructor() {
    super('conversations', { total: 16, perKey: 4, maxWaitMs: 5_000, maxSendMs: 10 * 60_000 });
  }
}
