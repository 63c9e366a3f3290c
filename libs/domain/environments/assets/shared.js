/*
 * The page behind a link to an environment. What stands behind the # of the address reaches no server by itself: it is
 * taken out of the address bar and sent, in a body, once somebody has said who they are.
 */
const TOKEN_KEY = 'headrace-token';
const REDEEM = new URL('../api/v1/environments/links/redeem', location.href);
const byId = (id) => document.getElementById(id);
const say = (text) => (byId('message').textContent = text);

const link = location.hash.slice(1);
history.replaceState(null, '', location.pathname + location.search);

async function redeem(token) {
  const response = await fetch(REDEEM, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ token: link }),
  });
  const answer = await response.json();
  if (response.status === 401) sessionStorage.removeItem(TOKEN_KEY);
  if (!response.ok) return say(answer.detail ?? 'The link could not be redeemed.');
  byId('ask').hidden = true;
  say(`Your runs may now work in ${answer.config.name ?? 'it'}: environment_id ${answer.uid}`);
}

byId('ask').addEventListener('submit', (event) => {
  event.preventDefault();
  const token = byId('token').value.trim();
  sessionStorage.setItem(TOKEN_KEY, token);
  redeem(token).catch(() => say('The service does not answer; try again.'));
});

if (link === '') say('This link is incomplete: copy all of it, with what stands behind the #.');
else {
  byId('token').value = sessionStorage.getItem(TOKEN_KEY) ?? '';
  byId('ask').hidden = false;
}
