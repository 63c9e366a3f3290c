import { defineTask } from '#platform/jobs';

export const SEND_ANSWERS_TASK = defineTask({
  library: 'answers',
  process: 'processor',
  name: 'send-answers',
  scope: 'process',
  period: { text: '`NOTIFY_POLL`', of: ({ notifyPoll }) => notifyPoll },
  description:
    'Writes comments, checks and reactions on issues and pull requests, and messages in threads, 16 at a time. The queue is `run_answers`.',
  wakeUp: { by: 'an attempt ends' },
});

export const SEND_COMMENTS_TASK = defineTask({
  library: 'answers',
  process: 'processor',
  name: 'send-comments',
  scope: 'process',
  period: { text: '`NOTIFY_POLL`', of: ({ notifyPoll }) => notifyPoll },
  description: 'Writes the comments that agents have asked for, 16 at a time. The queue is `run_comments`.',
  wakeUp: { by: 'an attempt ends' },
});
