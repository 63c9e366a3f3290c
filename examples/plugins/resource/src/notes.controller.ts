import { Body, Controller, Delete, Get, Param, Post } from '@nestjs/common';
import {
  ArrayField,
  Authorize,
  type Caller,
  CurrentCaller,
  DateTimeField,
  isAllowed,
  newUid,
  object,
  Operation,
  pathId,
  type RejectionOf,
  type ResourceWords,
  StringField,
  unwrap,
} from 'headrace/plugin';
import { type Note, NotesStore } from './notes.store.js';

const WORDS: ResourceWords = { noun: 'note', plural: 'notes' };

export class CreateNoteRequest {
  @StringField({ blank: false, max: 200, description: 'What is new.', example: 'Faster builds' }) title: string;
  @DateTimeField({ optional: true, description: 'When it is deleted. Default: never.' }) expires_at?: Date;
}

export class NoteItem {
  @StringField({ description: 'UID of the note.' }) uid: string;
  @StringField({ description: 'What is new.' }) title: string;
  @DateTimeField({ description: 'Time of creation.' }) created_at: string;
}

export class ListNotesResponse {
  @ArrayField(object(() => NoteItem), { description: 'The newest 100 notes.' }) notes: NoteItem[];
}

@Controller('example-notes')
export class NotesController {
  constructor(private readonly store: NotesStore) {}

  @Get()
  @Authorize('example-resource/notes:read')
  @Operation({
    id: 'listNotes',
    summary: 'List notes',
    team: true,
    success: { status: 200, description: 'The notes.', type: ListNotesResponse },
    errors: [403],
  })
  async listNotes(@CurrentCaller() { teamUids }: Caller): Promise<ListNotesResponse> {
    return { notes: (await this.store.listOf(teamUids)).map(present) };
  }

  @Post()
  @Authorize('example-resource/notes:manage')
  @Operation({
    id: 'createNote',
    summary: 'Create a note',
    team: true,
    request: { value: { title: 'Faster builds' } },
    success: { status: 201, description: 'The note.', type: NoteItem },
    errors: [400, 403],
  })
  async createNote(@CurrentCaller() { teamUid }: Caller, @Body() body: CreateNoteRequest): Promise<NoteItem> {
    const created = await this.create(teamUid, body);
    return present(unwrap(created, WORDS).note);
  }

  @Delete(':uid')
  @Authorize('example-resource/notes:manage', 'note')
  @Operation({
    id: 'deleteNote',
    summary: 'Delete a note',
    success: { status: 204, description: 'The note was deleted.' },
  })
  async deleteNote(@CurrentCaller() caller: Caller, @Param('uid', pathId('uid')) uid: string): Promise<void> {
    const { note } = unwrap(await this.find(caller, uid), WORDS);
    await this.store.delete(note.uid);
  }

  private async create(
    teamUid: string | null,
    { title, expires_at: expiresAt = undefined }: CreateNoteRequest,
  ): Promise<{ readonly kind: 'created'; readonly note: Note } | RejectionOf<'team_required'>> {
    if (teamUid === null) return { kind: 'team_required' };
    const note = await this.store.insert({ uid: newUid(), teamUid, title, expiresAt: expiresAt ?? null });
    return { kind: 'created', note };
  }

  /** Loads the note through the permission of the operation on its team. */
  private async find(
    caller: Caller,
    uid: string,
  ): Promise<{ readonly kind: 'found'; readonly note: Note } | RejectionOf<'not_found' | 'forbidden'>> {
    const note = await this.store.find(uid);
    if (!note) return { kind: 'not_found' };
    return isAllowed(caller, { teamUid: note.teamUid, userUid: null })
      ? { kind: 'found', note }
      : { kind: 'forbidden' };
  }
}

const present = ({ uid, title, createdAt }: Note): NoteItem => ({ uid, title, created_at: createdAt.toISOString() });
