/*
 * The page of an environment link. Browsers do not send the fragment of a URL to servers: the script removes it from the
 * address bar and sends it in a request body after the user has entered a token.
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
  say(`Your runs can now use the environment ${answer.config.name ?? answer.uid}: environment_id ${answer.uid}`);
}

byId('ask').addEventListener('submit', (event) => {
  event.preventDefault();
  const token = byId('token').value.trim();
  sessionStorage.setItem(TOKEN_KEY, token);
  redeem(token).catch(() => say('The service is not available. Try again.'));
});

if (link === '') say('This link is incomplete. Copy the complete link, including the part after the #.');
else {
  byId('token').value = sessionStorage.getItem(TOKEN_KEY) ?? '';
  byId('ask').hidden = false;
}
