// Shows messages in one area that covers no content of the page (frame.css). Other scripts dispatch:
// "venue:announce" with a text, shown for some seconds, or with `keep` until it is closed. With `quiet` only screen readers announce it,
// because the page shows it elsewhere.
// "venue:held" with whether there are changes that the page does not show yet: a link then reloads it.
const area = document.querySelector('.notices');
/** How many messages are shown; older ones are removed. */
const MAX_MESSAGES = 3;

function add(text, { brief, keep, quiet }) {
  const message = document.createElement('p');
  message.className = quiet ? 'visually-hidden' : 'toast';
  message.textContent = text;
  const close = () => message.remove();
  if (keep) {
    const button = document.createElement('button');
    button.type = 'button';
    button.textContent = 'Close';
    button.addEventListener('click', close);
    message.append(button);
  } else setTimeout(close, brief ? 4000 : 8000);
  const older = [...area.querySelectorAll('.toast')];
  for (const one of older.slice(0, Math.max(0, older.length + 1 - MAX_MESSAGES))) one.remove();
  area.append(message);
}

function offerReload() {
  const link = document.createElement('a');
  link.href = '';
  link.textContent = 'Show';
  link.addEventListener('click', (event) => {
    event.preventDefault();
    location.reload();
  });
  const notice = document.createElement('p');
  notice.className = 'live-notice';
  notice.append('This page has changed. ', link);
  area.prepend(notice);
}

/** On a phone, the open menu is above everything but what was opened after it. */
function stayAboveMenu({ newState }) {
  if (newState === 'open') {
    area.popover = 'manual';
    area.showPopover();
  } else area.removeAttribute('popover');
}

if (area) {
  document.getElementById('menu')?.addEventListener('toggle', stayAboveMenu);
  document.addEventListener('venue:announce', ({ detail: { text, ...how } }) => add(text, how));
  document.addEventListener('venue:held', ({ detail: { held } }) => {
    const notice = area.querySelector('.live-notice');
    if (!held) notice?.remove();
    else if (!notice) offerReload();
  });
}
