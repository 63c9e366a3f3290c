import { getSchemaPath } from '@nestjs/swagger';
import { ArrayField, DateTimeField, EnumField, JsonField, object, StringField, text } from '#platform/http';
import {
  ACTION_CATEGORIES,
  type ActionName,
  type Block,
  CATEGORIES,
  type Category,
  EVENT_NAMES,
  type EventName,
  RESULT_STATES,
  type ResultState,
  type Role,
  ROLES,
} from '../domain/conversation.js';

const OPTIONAL = { optional: true } as const;
const OBJECT = { schema: { type: 'object', additionalProperties: true } } as const;
const ACTION_NAMES = Object.keys(ACTION_CATEGORIES);

class BlockFields {
  @StringField({ ...OPTIONAL, description: 'ID of the agent’s message that holds this block.' }) message_id?: string;
}

class ActionFields extends BlockFields {
  @EnumField(CATEGORIES, { name: 'ActionCategory', description: 'Category of the action.' }) category: Category;
  @EnumField(ACTION_NAMES, { name: 'ActionName', description: 'Public name of the action.' }) name: ActionName;
}

class TextBlock extends BlockFields {
  @EnumField(['text'], { description: 'Kind of block: text.' }) type: 'text';
  @StringField({ description: 'The text, in Markdown.' }) text: string;
}

class ActionBlock extends ActionFields {
  @EnumField(['action'], { description: 'Kind of block: an action of the agent.' }) type: 'action';
  @StringField({ description: 'ID of the action; its result refers to it as `action_id`.' }) id: string;
  @JsonField({
    ...OBJECT,
    description:
      'Arguments of the action, by its name: run_command {command, cwd?}, read_files {paths}, edit_files {paths, diffs, operation?}, search_files {query, path?}, fetch_url {url}, ' +
      'call_mcp_tool {server, tool, arguments}, start_agent {description, prompt?, agent_type?}, read_skill {bundled_skill_id?, skill_path?}, ' +
      'other {tool_name?, title?, arguments?}; `truncated` when something was left out.',
  })
  input: object;
}

class ActionResultBlock extends ActionFields {
  @EnumField(['action_result'], { description: 'Kind of block: the result of an action.' }) type: 'action_result';
  @StringField({ description: 'ID of the action block that this result belongs to.' }) action_id: string;
  @EnumField(RESULT_STATES, { name: 'ActionState', description: 'State of the action.' }) state: ResultState;
  @JsonField({
    ...OBJECT,
    description:
      '{output?, exit_code?, data?, resources?, truncated?}: text output of at most 16 KB, cut in its middle when it is longer; bytes are named, not shown.',
  })
  output: object;
}

class EventBlock extends BlockFields {
  @EnumField(['event'], { description: 'Kind of block: an event.' }) type: 'event';
  @EnumField(EVENT_NAMES, { name: 'ConversationEventName', description: 'Name of the event.' }) name: EventName;
  @JsonField({
    ...OBJECT,
    description:
      'Data of the event, by its name: attachments {attachments: [{file_name, mime_type, size_bytes}]}, thinking {text}, plan {entries}, permission_request {approval_id, title, kind?, action_id?, options?, allow_text?}, permission_decision {approval_id, decision, by, kind?, note?, answer?, principal?}, ' +
      'turn_ended {stop_reason, message?}, lifecycle {events: [{event_type, occurred_at, payload?}]}.',
  })
  data: object;
}

export const BLOCK_CLASSES = [TextBlock, ActionBlock, ActionResultBlock, EventBlock] as const;

const BLOCK_SCHEMA = {
  type: 'array',
  items: {
    oneOf: BLOCK_CLASSES.map((block) => ({ $ref: getSchemaPath(block) })),
    discriminator: {
      propertyName: 'type',
      mapping: {
        text: getSchemaPath(TextBlock),
        action: getSchemaPath(ActionBlock),
        action_result: getSchemaPath(ActionResultBlock),
        event: getSchemaPath(EventBlock),
      },
    },
  },
} as const;

class Message {
  @EnumField(ROLES, { name: 'MessageRole', description: 'Author of the message.' }) role: Role;
  @JsonField({ schema: BLOCK_SCHEMA as never, description: 'Contents of the message, in order.' }) content: Block[];
  @ArrayField(text(), { ...OPTIONAL, description: 'IDs of the agent’s messages that were merged into this one.' })
  message_ids?: string[];
  @StringField({ ...OPTIONAL, description: 'ID of the prompt that this message answers.' }) request_id?: string;
  @DateTimeField({ ...OPTIONAL, description: 'Time of the message.' }) timestamp?: string;
}

class Step {
  @StringField({ description: 'ID of the turn, or for delegated work the ID of the action that started it.' })
  id: string;
  @StringField({ ...OPTIONAL, description: 'What the step is about.' }) description?: string;
  @StringField({ ...OPTIONAL, description: 'Result of the step.' }) summary?: string;
  @DateTimeField({ ...OPTIONAL, description: 'Time of the first message of the step.' }) started_at?: string;
  @DateTimeField({ ...OPTIONAL, description: 'Time at which the step ended; absent while it is running.' })
  completed_at?: string;
  @ArrayField(object(() => Message), { description: 'Messages of the step, in order.' }) messages: Message[];
  @ArrayField(object(() => Step), { description: 'Steps of delegated work.' })
  steps: Step[];
}

export class ConversationResponse {
  @StringField({ description: 'ID of the conversation.' }) conversation_id: string;
  @ArrayField(object(() => Step), { description: 'Turns and the set-up phases before them, oldest first.' })
  steps: Step[];
}

export class ConversationRedirectResponse {
  @StringField({ optional: true, description: 'ID of the agent’s newest session; absent when there is none.' })
  session_id?: string;
}

export class InterruptConversationResponse {
  @StringField({ description: 'ID of the run whose turn will end.' }) run_id: string;
}

export class SessionRedirectResponse {
  @StringField({ optional: true, description: 'ID of the conversation; absent when there is none.' })
  conversation_id?: string;
}
