/** The normalised conversation as it goes over the wire; shapes and names are the API contract's. */
export interface ConversationResponse {
  conversation_id: string;
  steps: Step[];
}

/** A turn, a set-up phase, or (nested) the work of a delegated agent. */
export interface Step {
  id: string;
  description?: string;
  summary?: string;
  /** RFC 3339, the server's time. */
  started_at?: string;
  completed_at?: string;
  messages: Message[];
  steps: Step[];
}

export const ROLES = ['user', 'assistant', 'tool', 'system'] as const;
export type Role = (typeof ROLES)[number];

export interface Message {
  role: Role;
  content: Block[];
  message_ids?: string[];
  request_id?: string;
  timestamp?: string;
}

export const CATEGORIES = [
  'command',
  'files',
  'search',
  'integration',
  'documents',
  'computer',
  'review',
  'skill',
] as const;
export type Category = (typeof CATEGORIES)[number];

/** Public and stable; each belongs to one category. */
export const ACTION_CATEGORIES = {
  run_command: 'command',
  read_files: 'files',
  edit_files: 'files',
  search_files: 'search',
  fetch_url: 'search',
  call_mcp_tool: 'integration',
  start_agent: 'integration',
  read_skill: 'skill',
  other: 'integration',
} as const satisfies Record<string, Category>;
export type ActionName = keyof typeof ACTION_CATEGORIES;

export const RESULT_STATES = ['running', 'completed', 'failed', 'denied'] as const;
export type ResultState = (typeof RESULT_STATES)[number];

export type JsonObject = Record<string, unknown>;

export type Block =
  | { type: 'text'; text: string; message_id?: string }
  | { type: 'action'; id: string; category: Category; name: ActionName; input: JsonObject; message_id?: string }
  | {
      type: 'action_result';
      action_id: string;
      category: Category;
      name: ActionName;
      state: ResultState;
      output: JsonObject;
      message_id?: string;
    }
  | { type: 'event'; name: EventName; data: JsonObject; message_id?: string };

export const EVENT_NAMES = [
  'attachments', // {attachments: [{file_name, mime_type, size_bytes}]}, in the user's message
  'thinking', // {text}
  'plan', // {entries}
  'permission_request', // {approval_id, title, kind?, action_id?, options?, allow_text?}
  'permission_decision', // {approval_id, decision, by, kind?, title?, note?, answer?, principal?}
  'mode_changed', // {mode}
  'output_truncated', // what the runner left out
  'turn_ended', // {stop_reason, message?}, unless the turn simply ended
  'lifecycle', // {events: [{event_type, occurred_at, payload?}]}
] as const;
export type EventName = (typeof EVENT_NAMES)[number];
