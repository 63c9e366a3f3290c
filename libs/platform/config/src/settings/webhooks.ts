import { addressRanges, boolean, duration, integer, publicOrigin, settingGroup } from '../setting-kinds.js';

export const WEBHOOK_SETTINGS = {
  ...settingGroup('Webhooks', ['ingress', 'processor'], {
    ingressBodyTimeout: duration('15s', '100ms', '1min').describe('Maximum time to receive a delivery.'),
    ingressMaxConcurrentBodies: integer(256, 4, 10_000).describe(
      'Maximum number of request bodies, each up to 256 KB, that one ingress process reads concurrently; one webhook gets a quarter of them. When they run short, requests from an address that holds more than an eighth are aborted.',
    ),
    ingressRejectionRateLimit: integer(1000, 0, 1_000_000).describe(
      'Rejected requests that one ingress process answers per second; further responses are delayed by up to 2 s, so that floods do not slow down deliveries. 0 sets no limit.',
    ),
    webhookRateLimit: integer(60, 1, 6000).describe(
      'Maximum deliveries of one webhook within WEBHOOK_RATE_WINDOW, over all ingress processes; further ones get a 429.',
    ),
    webhookRateWindow: duration('1min', '1ms', '1h').describe('Sliding window of WEBHOOK_RATE_LIMIT.'),
    webhookAuthFailureLimit: integer(20, 1, 10_000).describe(
      'Failed authentications of one webhook from one address within WEBHOOK_AUTH_FAILURE_WINDOW, per ingress process, after which that address gets a 429.',
    ),
    webhookAuthFailureWindow: duration('5min', '1s', '1d').describe('Sliding window of WEBHOOK_AUTH_FAILURE_LIMIT.'),
    webhookEvaluationPoll: duration('1s', '50ms', '1min').describe(
      'Interval at which the processor queries for accepted deliveries that are not evaluated yet; the fallback when no wake-up arrives.',
    ),
    automationTargetLimit: integer(20, 1, 10_000).describe(
      'Maximum runs that an automation starts or continues within an hour for one issue, pull request, branch or tag of GitHub or GitLab, or one thread of Slack; five times as many for one repository or channel, and five times each within a day.',
    ),
    webhookLogRetention: duration('7d', '7d', '3650d').describe(
      'Minimum time that deliveries stay in the log of their webhook.',
    ),
    webhookLogMinEntries: integer(50, 50, 10_000).describe(
      'The newest deliveries of a webhook, and its newest accepted deliveries, that stay in the log regardless of their age.',
    ),
    webhookDedupWindow: duration('30d', '1d', '3650d').describe(
      'How long a repeated delivery is recognized as a duplicate.',
    ),
  }),
  ...settingGroup('Notifications', ['API', 'processor'], {
    notifyAllowPrivate: addressRanges().describe(
      'Addresses or CIDR ranges, comma-separated, to which notifications may be sent although they are not public.',
    ),
    notifyAllowHttp: boolean(false).describe('Allows notifications to http:// addresses, which are not encrypted.'),
    notifyPoll: duration('1s', '50ms', '1min').describe(
      'Interval at which the processor queries for due notifications, the fallback when no wake-up arrives, and for due answers on issues, pull requests and threads.',
    ),
    notifyTimeout: duration('10s', '50ms', '1min').describe(
      'Maximum duration of one attempt to deliver a notification, from the DNS query to the response.',
    ),
    notifyDisableAfter: duration('5d', '1min', '90d').describe(
      'A notification webhook that has accepted nothing for this long, in at least ten attempts, is disabled.',
    ),
    slackApiUrl: publicOrigin().describe(
      'Web API of Slack, for answers in threads. Responses to clicks on buttons go to its origin, or to the same host with the prefix hooks. Default: https://slack.com/api.',
    ),
    notifyLogRetention: duration('30d', '1h', '3650d').describe(
      'How long ended deliveries of notifications stay in the log.',
    ),
  }),
  ...settingGroup('Schedules', ['processor'], {
    scheduleCatchUpWindow: duration('1h', '1min', '30d').describe(
      'After an outage the latest due time of a schedule still starts a run if it is younger than this; older due times are recorded as missed.',
    ),
    schedulePauseAfterFailures: integer(5, 1, 1000).describe(
      'A schedule is paused after this many consecutive due times that could not start a run for a permanent reason.',
    ),
    schedulePoll: duration('1s', '50ms', '10s').describe('Interval at which the processor queries for due schedules.'),
  }),
} as const;
