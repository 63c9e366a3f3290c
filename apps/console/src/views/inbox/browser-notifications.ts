import { signal } from '@preact/signals';
import { navigate } from '../../router';

const KEY = 'headrace-notify';

const isSupported = 'Notification' in globalThis;

/** Whether this browser shows a notification for what is new in the inbox. */
export const notifies = signal(
  isSupported && Notification.permission === 'granted' && localStorage.getItem(KEY) !== null,
);
export const canNotify = isSupported;

/** Only after a click: browsers reject, and people dislike, a question that nobody has asked for. */
export async function startNotifications(): Promise<void> {
  const permission = await Notification.requestPermission();
  if (permission !== 'granted') throw new Error('The browser does not allow notifications of this site.');
  localStorage.setItem(KEY, '1');
  notifies.value = true;
}

export function stopNotifications(): Promise<void> {
  localStorage.removeItem(KEY);
  notifies.value = false;
  return Promise.resolve();
}

/** `to`: the path that a click opens. Not while the user looks at the console. */
export function notifyBrowser(title: string, body: string, to: string): void {
  if (!notifies.peek() || (!document.hidden && document.hasFocus())) return;
  // The same item in several tabs is one notification.
  const notification = new Notification(title, { body, tag: to });
  notification.addEventListener('click', () => {
    focus();
    navigate(to);
    notification.close();
  });
}
