import { Controller, Get, Query, Res } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { Response } from 'express';
import { Readable } from 'node:stream';
import { AuditLog, INSTALLATION_CHAIN } from '#platform/audit';
import { allowAsAdministrator, Authorize, type Caller, CurrentCaller, isAllowed, teamOf } from '#platform/auth';
import { Settings } from '#platform/config';
import { forbidden, Operation, ProblemError, sendStream } from '#platform/http';
import { PageCursors } from '#platform/kernel';
import { AuditLogScope, ListAuditLogParameters, ListAuditLogResponse, type SCOPES } from './dto/audit-log.dto.js';
import { pageOf } from './pages.js';
import { presentEntry } from './presenters.js';

const RESOURCE = 'audit log';
const EXPORT_PAGE = 1000;
const EXPORT_TYPE = 'application/x-ndjson';

@ApiTags('Administration')
@Controller('audit-log')
export class AuditLogController {
  private readonly cursors: PageCursors;

  constructor(
    private readonly log: AuditLog,
    settings: Settings,
  ) {
    this.cursors = new PageCursors('audit-log', settings);
  }

  @Get()
  @Authorize('audit_log:read', RESOURCE)
  @Operation({
    id: 'listAuditLog',
    summary: 'List the audit log',
    description:
      'Administrative operations of the team and uses of its secrets: who, what, when and from where. Newest first.',
    team: true,
    success: { status: 200, description: 'A page of entries.', type: ListAuditLogResponse },
    errors: [400, 403],
  })
  async list(@CurrentCaller() caller: Caller, @Query() query: ListAuditLogParameters): Promise<ListAuditLogResponse> {
    const { scope, action, actor_uid: actorUid, target_uid: targetUid, after, before, ...page } = query;
    const chain = chainOf(caller, scope);
    const filter = { action, actorUid, targetUid, after, before };
    const { items, page_info } = await pageOf(
      this.cursors,
      page,
      { chain, ...filter },
      (position, limit) => this.log.list(chain, filter, position && Number(position[0]), limit),
      ({ seq }) => [String(seq)],
    );
    return { entries: items.map(presentEntry), page_info };
  }

  @Get('export')
  @Authorize('audit_log:read', RESOURCE)
  @Operation({
    id: 'exportAuditLog',
    summary: 'Export the audit log',
    description:
      'The whole log, oldest first: a line `{"entry","hash"}` for each entry, and `{"head":{"seq","hash"}}` at the end. `entry` is the JSON text of the entry; `hash` is the SHA-256 of the hash of the line before (32 zero bytes for the first one) and `entry` in UTF-8. `headrace audit verify` checks it.',
    team: true,
    success: {
      status: 200,
      description: 'The entries, a JSON object in each line.',
      schema: { type: 'string' },
      contentType: EXPORT_TYPE,
    },
    errors: [400, 403],
  })
  async export(
    @CurrentCaller() caller: Caller,
    @Query() { scope }: AuditLogScope,
    @Res() response: Response,
  ): Promise<void> {
    const chain = chainOf(caller, scope);
    response.attachment(`audit-log-${chain}.ndjson`);
    response.setHeader('Content-Type', EXPORT_TYPE);
    return sendStream(Readable.from(this.lines(chain)), response);
  }

  /** All rows, also one after the head, which nobody has appended in order. Entries that are appended meanwhile are included. */
  private async *lines(chain: string): AsyncGenerator<string> {
    for (let last = 0; ;) {
      const entries = await this.log.read(chain, last, EXPORT_PAGE);
      for (const { entry, hash } of entries) yield `${JSON.stringify({ entry, hash })}\n`;
      last = entries.at(-1)?.seq ?? last;
      if (entries.length === EXPORT_PAGE) continue;
      // Read after the rows: the head is that of the last one, unless more were appended or are missing.
      const head = await this.log.head(chain);
      if (head.seq > last && entries.length > 0) continue;
      yield `${JSON.stringify({ head })}\n`;
      return;
    }
  }
}

function chainOf(caller: Caller, scope: (typeof SCOPES)[number] = 'team'): string {
  if (scope === 'team') {
    const teamUid = teamOf(caller);
    if (isAllowed(caller, { teamUid, userUid: null })) return teamUid;
    throw forbidden(RESOURCE);
  }
  if (allowAsAdministrator(caller)) return INSTALLATION_CHAIN;
  throw new ProblemError('not_authorized', '`scope`: only administrators of the installation can read its entries.');
}
