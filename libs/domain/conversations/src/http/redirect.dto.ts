import { StringField } from '#platform/http';

export class ConversationRedirectResponse {
  @StringField({ optional: true, description: 'The agent’s session; absent when there is none to go to.' })
  session_id?: string;
}

export class SessionRedirectResponse {
  @StringField({ optional: true, description: 'Absent when there is none to go to.' })
  conversation_id?: string;
}
