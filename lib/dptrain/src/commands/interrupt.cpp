#include "commands/interrupt.h"

#include <csignal>

namespace dptrain {

namespace {

constexpr int signals[] = {SIGINT, SIGTERM};
volatile std::sig_atomic_t signal_came = 0;
struct sigaction before[2];

void take_note(int signal)
{
  signal_came = 1;
  for (int k = 0; k < 2; ++k)
    if (signals[k] == signal) sigaction(signal, &before[k], nullptr);
}

}  // namespace

Interrupt::Interrupt()
{
  signal_came = 0;
  struct sigaction action = {};
  action.sa_handler = take_note;
  action.sa_flags = SA_RESTART;  // reads and writes in progress go on
  for (int k = 0; k < 2; ++k) sigaction(signals[k], &action, &before[k]);
}

Interrupt::~Interrupt()
{
  for (int k = 0; k < 2; ++k) sigaction(signals[k], &before[k], nullptr);
}

bool Interrupt::asked() const
{
  return signal_came != 0;
}

}  // namespace dptrain
