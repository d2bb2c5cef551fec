// Uploads photos one after another, with progress, and orders them by drag. Everything works without this file.

document.addEventListener('submit', (event) => {
  const form = event.target;
  const { photo } = form.elements;
  if (form.id !== 'upload' || event.defaultPrevented || !photo?.files.length) return;
  event.preventDefault();
  uploadAll(form, [...photo.files]).catch(() => form.submit());
});

async function uploadAll(form, files) {
  const button = form.querySelector('button');
  button.disabled = true;
  for (const file of files) await uploadOne(form, file);
  form.elements.photo.value = '';
  delete form.dataset.sent;
  button.disabled = false;
}

async function uploadOne(form, file) {
  const line = document.createElement('li');
  const name = document.createElement('bdi');
  const progress = document.createElement('progress');
  progress.setAttribute('aria-label', file.name);
  progress.value = 0;
  name.textContent = file.name;
  line.append(name, progress);
  form.querySelector('.uploads').append(line);
  const body = new FormData(form);
  body.set('photo', file);
  const answer = await send(form.action, body, (share) => {
    progress.value = share;
  });
  progress.remove();
  const page = new DOMParser().parseFromString(answer.responseText, 'text/html');
  const isStored = answer.status === 200 && page.querySelector('#photos') && !page.querySelector('#photo-error');
  const told = ['#photo-error', '.flash.problem', 'main'].map((place) => page.querySelector(place)).find(Boolean);
  const problem = told?.textContent.trim().replace(/\s+/g, ' ');
  line.append(`: ${isStored ? 'added' : problem || 'It could not be sent. Try again.'}`);
  line.className = isStored ? '' : 'error';
  showList(page);
}

function send(url, body, onProgress) {
  const { promise, resolve } = Promise.withResolvers();
  const request = new XMLHttpRequest();
  request.open('POST', url);
  request.upload.addEventListener('progress', ({ loaded, total }) => onProgress(total === 0 ? 0 : loaded / total));
  request.addEventListener('loadend', () => resolve(request));
  request.send(body);
  return promise;
}

/** Shows the list of another page, with what was typed into this one and not saved yet. */
function showList(page) {
  const [now, next] = [document.querySelector('#photos'), page.querySelector('#photos')];
  if (!now || !next) return;
  for (const field of now.querySelectorAll('input[name=alt]')) {
    const same = next.querySelector(`#${CSS.escape(field.id)}`);
    if (!same || (field.value === field.defaultValue && field.dataset.typed === undefined)) continue;
    same.value = field.value;
    same.dataset.typed = '';
  }
  now.replaceWith(document.adoptNode(next));
  makeDraggable();
}

let dragged;

function makeDraggable() {
  for (const item of document.querySelectorAll('.photo-item')) item.draggable = true;
}

document.addEventListener('dragstart', ({ target, dataTransfer }) => {
  dragged = target.closest?.('.photo-item') ?? undefined;
  if (!dragged) return;
  // Firefox drags only what has data.
  dataTransfer.setData('text/plain', '');
  dataTransfer.effectAllowed = 'move';
  dragged.classList.add('dragged');
});

document.addEventListener('dragover', (event) => {
  const over = event.target.closest?.('.photo-item');
  if (!dragged || !over) return;
  event.preventDefault();
  if (over === dragged) return;
  const isBefore = dragged.compareDocumentPosition(over) & Node.DOCUMENT_POSITION_PRECEDING;
  over[isBefore ? 'before' : 'after'](dragged);
});

document.addEventListener('drop', (event) => {
  if (dragged) event.preventDefault();
});

document.addEventListener('dragend', () => {
  const form = dragged?.closest('form');
  dragged?.classList.remove('dragged');
  dragged = undefined;
  form?.requestSubmit();
});

makeDraggable();
