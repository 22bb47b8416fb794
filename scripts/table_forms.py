"""The two forms of a tuning table, as values of JSON: version 1, with a section for each subject, and version 2, in which
all entries are of one form (docs/tuning.md). Quadrille reads both and writes the second."""

DENSE = ['alltoall', 'alltoallv', 'alltoallw', 'allgather', 'allgatherv']


def _around(entry):
  return {name: entry[name] for name in ('neighbors', 'rounds', 'blocks')}


def _limit(entry, otherwise=0):
  return entry['choices'][0]['up_to'] if entry['choices'] else otherwise


def _ranges(ranges, old, new):
  return [{'up_to': one['up_to'], new: one[old]} for one in ranges]


def to_old(table):
  """Version 1 of a table of either. What version 1 has no words for is left out."""
  if table['quadrille_tuning'] == 1:
    return table
  old = {'quadrille_tuning': 1, 'machine': table['machine'], 'entries': []}
  points = {}
  for entry in table['entries']:
    of = entry['of']
    case = {name: entry[name] for name in ('collective', 'ranks', 'ranks_on_node', 'nodes', 'crowded') if name in entry}
    case.update(entry.get('around', {}))
    if of in ('inbox', 'kernel-copy'):
      one = points.setdefault((entry['ranks'], entry['crowded']),
                              {'ranks': entry['ranks'], 'crowded': entry['crowded'], 'cma_from': 0,
                               'inbox_limit': {name: 0 for name in DENSE}})
      if of == 'inbox':
        one['inbox_limit'][entry['collective']] = _limit(entry)
      else:
        one['cma_from'] = _limit(entry, -1) + 1
    elif of == 'algorithm':
      old.setdefault('algorithms', []).append(case | {'choices': _ranges(entry['choices'], 'take', 'algorithm')})
    elif of == 'order':
      old.setdefault('neighbors', []).append(case | {'inside': _ranges(entry['choices'], 'take', 'algorithm')})
    elif of == 'combining':
      old.setdefault('neighbors', []).append(case | {'largest_combined': _limit(entry)})
    elif of == 'model':
      old.setdefault('models', []).append({name: entry[name] for name in entry if name != 'of'})
  old['entries'] = list(points.values())
  return old


def to_new(table):
  """Version 2 of a table of version 1."""
  entries = []
  for entry in table['entries']:
    case = {'ranks': entry['ranks'], 'crowded': entry['crowded']}
    for name in DENSE:
      entries.append({'of': 'inbox', 'collective': name, **case,
                      'choices': [{'up_to': entry['inbox_limit'][name], 'take': 'inbox'}]})
    choices = [{'up_to': entry['cma_from'] - 1, 'take': 'ring'}] if entry['cma_from'] > 0 else []
    entries.append({'of': 'kernel-copy', **case, 'choices': choices})
  for entry in table.get('algorithms', []):
    entries.append({'of': 'algorithm', **entry, 'choices': _ranges(entry['choices'], 'algorithm', 'take')})
  for entry in table.get('neighbors', []):
    new = {name: entry[name] for name in ('collective', 'ranks', 'ranks_on_node', 'crowded') if name in entry}
    new['around'] = _around(entry)
    if 'inside' in entry:
      new.pop('ranks_on_node', None)
      entries.append({'of': 'order', **new, 'choices': _ranges(entry['inside'], 'algorithm', 'take')})
    else:
      entries.append({'of': 'combining', **new,
                      'choices': [{'up_to': entry['largest_combined'], 'take': 'combined'}]})
  for entry in table.get('models', []):
    entries.append({'of': 'model', **entry})
  return {'quadrille_tuning': 2, 'machine': table['machine'], 'entries': entries}
